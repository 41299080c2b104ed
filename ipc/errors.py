"""What can go wrong between two processes, named by whose fault it is and what the caller does next."""


class IpcError(Exception):
    """Base of all that this package raises on purpose."""


class LocalFault(IpcError):
    """We asked for something that can't be sent; fix the caller."""


class RemoteFault(IpcError):
    """A frame from outside was refused; answer its sender, count it, go on."""

    def __init__(self, code: str, message: str, *, command_id: int = 0, parent: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """`bad_frame`, `too_large`, `wrong_version`, `unknown_message`, `bad_message`."""
        self.message = message
        self.command_id = command_id
        """Id of the command to answer; 0 when it was none, or can't be known."""
        self.parent = parent
        """Id of our command that the frame answers; 0 when it was no reply, or can't be known."""


class PeerGone(IpcError):
    """The other process ended before it answered; what it did with the command is unknown."""


class ReplyLate(IpcError):
    """The deadline passed without an answer; what the other process did is unknown."""


class PlaceError(IpcError):
    """The run directory can't be used; the message says why and what to do."""
