"""What is made of the audit's records: events, exports, and the check of an export."""
