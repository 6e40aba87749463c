"""The toolsets that come with failsoft, one a folder. Others are found through entry points `failsoft.toolsets`."""
