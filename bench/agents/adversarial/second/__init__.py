"""The trades of a second set, written by somebody who had not seen how answers are made."""
