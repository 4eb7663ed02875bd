"""The one error that a user can mend."""


class StudyError(Exception):
    """Something the user can mend: bad config, data, mask or input.

    The message is one line that names what is wrong, where, and how to mend it; `maskstudy` prints it without a
    traceback.
    """
