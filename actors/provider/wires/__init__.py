"""From the conversation to the bytes of a request, in the protocol and the form that a server takes."""
