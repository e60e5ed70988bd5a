# gpu_peers_16bit.gp of the backward pass.
op = "attention_backward"
load plots."/gpu_peers_16bit.gp"
