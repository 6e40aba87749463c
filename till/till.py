def price(cups):
    """
    >>> price(3)
    8.25
    """
    return 2.75 * cups
