"""What every comparison with PyTorch writes: rows below the lines that say where they come from."""
import os
import subprocess
import time

import torch


def provenance(commit, command):
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                            text=True).stdout.split("\n")[0]
    return {"device": torch.cuda.get_device_name(0), "driver": driver,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit,
            "peers": f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}", "command": command}


def write(rows, path, header):
    """A file is whole or not there. Rows may lack some of the columns."""
    columns = []
    for r in rows:
        columns += [k for k in r if k not in columns]
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".tmp", "w") as f:
        for k, v in header.items():
            f.write(f"# {k}: {v}\n")
        f.write(",".join(columns) + "\n")
        for r in rows:
            f.write(",".join(str(r.get(k, "")) for k in columns) + "\n")
    os.replace(path + ".tmp", path)
