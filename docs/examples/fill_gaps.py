# --8<-- [start:program]
import asyncio

from failsoft.tools.flux import Flux

WITHOUT_PHOSPHATE = ["cpd00027", "cpd00007", "cpd00001", "cpd00013", "cpd00067"]


async def main() -> None:
    tool = Flux()
    whole = (await tool.load_model(name="textbook")).data["model_id"]
    gappy = (
        await tool.modify_model(model_id=whole, remove_reactions=["CS", "ENO"])
    ).data["model_id"]
    medium = (
        await tool.build_media(compounds=WITHOUT_PHOSPHATE, default_uptake=10.0)
    ).data["media_id"]

    refused = (
        await tool.gapfill_model(model_id=gappy, media_id=medium, target_growth=0.5)
    ).to_dict()
    print(
        refused["error_code"],
        [item["name"] for item in refused["details"]["missing_nutrients"]],
    )

    step = refused["next_step"]
    richer = (
        await tool.execute_with_error_handling(step["tool"], step["arguments"])
    ).data["media_id"]
    filled = (
        await tool.gapfill_model(model_id=gappy, media_id=richer, target_growth=0.5)
    ).data
    print(
        filled["num_reactions_added"], "reactions added,", filled["growth_rate"] >= 0.5
    )
    await tool.shutdown()


asyncio.run(main())
# --8<-- [end:program]
