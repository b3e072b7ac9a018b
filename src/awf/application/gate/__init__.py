"""What a call has to pass before it is carried out, whoever makes it and through whichever door."""
