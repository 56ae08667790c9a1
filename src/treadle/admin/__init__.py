"""What an admin sees and does: the work-item API, live events and the web view, for any FastAPI application."""

from treadle.admin.router import AdminRouter, admin_router
from treadle.admin.store import AdminStore

__all__ = ["AdminRouter", "AdminStore", "admin_router"]
