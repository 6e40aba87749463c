# --8<-- [start:program]
import asyncio
from pathlib import Path

from failsoft.tools.edit import Edit

file = Path("menu.txt").absolute()
file.write_text("tea 2.00\ncoffee 2.50\nwater 1.00\n")
edits = [
    {"old_string": "tea 2.00", "new_string": "tea 2.20"},
    {"old_string": "cofee", "new_string": "coffee"},
]


async def main() -> None:
    tool = Edit(root=file.parent, state_folder=file.parent / ".state")

    shown = await tool.execute_with_error_handling(
        "multi_edit", {"file_path": str(file), "edits": edits[:1], "dry_run": True}
    )
    print(shown.to_dict()["diff"].partition("\n")[2])

    failed = (
        await tool.execute_with_error_handling(
            "multi_edit", {"file_path": str(file), "edits": edits}
        )
    ).to_dict()
    print(
        failed["error_code"],
        failed["edit_index"],
        failed["effect"],
        failed["recovery_hints"][0],
    )
    print(failed["context"]["snippet"])


asyncio.run(main())
# --8<-- [end:program]
