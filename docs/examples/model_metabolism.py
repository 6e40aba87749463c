# --8<-- [start:program]
import asyncio
from typing import Any

from failsoft.tools.flux import Flux

# Glucose in capitals, and nitrogen is missing.
MEDIUM = ["CPD00027", "cpd00007", "cpd00001", "cpd00009", "cpd00067"]


async def main() -> None:
    tool = Flux()

    async def reach(name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool until it succeeds, doing whatever its failures say."""
        while not (
            answer := await tool.execute_with_error_handling(name, arguments)
        ).success:
            failure = answer.to_dict()
            step = failure["next_step"]
            print(f"{name}: {failure['error_code']}, so {step['tool']}")
            if step["tool"] == name:
                arguments = step["arguments"]
            else:
                found = await reach(step["tool"], **step["arguments"])
                arguments |= {
                    key: found[key] for key in arguments.keys() & found.keys()
                }
        return arguments | answer.data

    model = await reach("load_model", name="Textbook")
    gappy = await reach(
        "modify_model",
        model_id=model["model_id"],
        remove_reactions=["G6PDH2r", "RPI", "RPE"],
    )
    medium = await reach("build_media", compounds=MEDIUM, default_uptake=10.0)
    grown = await reach(
        "run_fba", model_id=gappy["model_id"], media_id=medium["media_id"]
    )

    print(
        "grows:",
        grown["growth_rate"] > 0.3,
        "uptakes:",
        [item["name"] for item in grown["uptakes"]],
    )
    models = (await tool.list_models()).data["models"]
    print("models:", [(item["name"], item["num_reactions"]) for item in models])
    await tool.shutdown()


asyncio.run(main())
# --8<-- [end:program]
