# --8<-- [start:program]
import asyncio
import shutil
import tempfile
from pathlib import Path

from failsoft.tools.docs import Docs

HANDBOOK = Path(__file__).with_name("handbook")


async def main(base: Path) -> None:
    shutil.copytree(HANDBOOK, base / "handbook")
    async with Docs(
        base, cache_dir=base / "cache", state_folder=base / "state"
    ) as docs:
        project = (await docs.activate_project(config_path="handbook/config.json")).data
        print(project["project"], project["doc_types"], project["external_docs"])

        found = (
            await docs.search_documents(query="How do I send something heavy?")
        ).data
        print(found["results"][0]["path"])

        section = (
            await docs.get_documentation(path="returns#within-14-days")
        ).to_dict()
        print(
            section["data"]["documents"][0]["path"],
            section["metadata"]["recovery"]["rule"],
        )

        refused = (
            await docs.validate_document(path="policies/opening-hours.md")
        ).to_dict()
        for fault in refused["error"]["violations"]:
            print(fault["line"], fault["path"], fault["reason"])

        promoted = (
            await docs.promote_document(
                path="guides/pack-a-parcel.md", level="important"
            )
        ).data
        print(promoted["previous_level"], "->", promoted["level"])

        foreign = (
            await docs.search_external_docs(query="labels of heavy parcels")
        ).data
        print(foreign["results"][0]["path"])


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
# --8<-- [end:program]
