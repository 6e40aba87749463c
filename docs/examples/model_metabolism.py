# --8<-- [start:program]
import asyncio

from failsoft.tools.flux import Flux

WITHOUT_NITROGEN = ["cpd00027", "cpd00007", "cpd00001", "cpd00009", "cpd00067"]


async def main() -> None:
    tool = Flux()
    model = (await tool.load_model(name="textbook")).data["model_id"]
    medium = (await tool.build_media(compounds=WITHOUT_NITROGEN, default_uptake=10.0)).data["media_id"]

    refused = (await tool.run_fba(model_id=model, media_id=medium)).to_dict()
    print(refused["error_code"], refused["details"]["missing_uptakes"])

    step = refused["next_step"]
    print(step["tool"], step["arguments"]["compounds"])
    richer = (await tool.execute_with_error_handling(step["tool"], step["arguments"])).data["media_id"]

    grown = await tool.run_fba(model_id=model, media_id=richer)
    print(f"{grown.data['growth_rate']:.3f} per hour, eating {[item['name'] for item in grown.data['uptakes']]}")
    await tool.shutdown()


asyncio.run(main())
# --8<-- [end:program]
