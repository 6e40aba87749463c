"""The toolsets that come with failsoft, one a folder. Others are found through entry points `failsoft.toolsets`."""

from failsoft.framework.files import require_posix

require_posix("The toolsets docs, edit, flux and workspace need")
