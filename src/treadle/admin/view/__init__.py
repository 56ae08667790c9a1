"""The web view of work items: files without a build step, and what mounts them."""

from treadle.admin.view.sign_in import PasswordSignIn, ProxySignIn, SignIn, TokenSignIn
from treadle.admin.view.view import admin_view

__all__ = ["PasswordSignIn", "ProxySignIn", "SignIn", "TokenSignIn", "admin_view"]
