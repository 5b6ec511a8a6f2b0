# SPDX-License-Identifier: Apache-2.0
"""A controlling process that only lives to be killed.

lab_controller.py TARGET_SOCKET SOURCE_SOCKET TARGET_PARAMS SOURCE_PARAMS
starts the listeners of one migration, prints {"target": RESULT, "source":
RESULT} and keeps its connections open until it dies. The parameters are JSON;
address and ports of the source come from the target's result.
"""

import json
import signal
import sys

import rpc


def main():
    target_socket, source_socket = sys.argv[1:3]
    target_params, source_params = map(json.loads, sys.argv[3:5])
    with rpc.Client(target_socket) as target, \
            rpc.Client(source_socket) as source:
        listening = target.call("target.start", target_params)
        source_params.update(address=listening["address"],
                             ports=listening["ports"])
        opened = source.call("source.start", source_params)
        print(json.dumps({"target": listening, "source": opened}), flush=True)
        signal.pause()


main()
