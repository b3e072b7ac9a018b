echo "release {{ inputs.tag }} failed in {{ error.state }}: {{ env.NO_SUCH_VARIABLE }}"
