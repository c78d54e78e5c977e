"""Binds volumes before the binding of their pod."""
