#!/usr/bin/python3
"""Trains the network of examples/digits on scans of handwritten digits and exports it.

    apt-get install --no-install-recommends python3-torch python3-sklearn
    examples/train_digits.py FOLDER     # writes digits.onnx, images.npy and labels.npy there, in seconds

The scans are the 1,797 of UCI's optdigits.tes, which scikit-learn ships. The last 400 are held out: training does not
see them, and FOLDER gets them.
"""
import sys
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

HELD_OUT = 400
DOC = b"Handwritten digits, 8x8, 0 paper to 16 ink. Trained on UCI optdigits (CC BY 4.0) by examples/train_digits.py."


class Digits(nn.Module):
    """uint8 [batch, 8, 8], 0 (paper) to 16 (ink) -> probabilities [batch, 10]; in training, their logits."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24)
        self.conv2, self.norm2 = nn.Conv2d(24, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.dense = nn.Linear(32 * 4 * 4, 10)

    def forward(self, image):
        x = image.unsqueeze(1).float() / 16
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.relu(self.norm2(self.conv2(x)))
        x = self.dense(F.dropout(x.flatten(1), 0.3, self.training))
        return x if self.training else x.softmax(-1)


def jitter(images):
    """Each image turned, sheared, scaled and moved a little, as the next hand might have it."""
    n = len(images)
    turn, shear = (torch.rand(2, n) - 0.5) * 0.5
    scale = 1 + (torch.rand(2, n) - 0.5) * 0.25
    move = (torch.rand(2, n) - 0.5) * 0.35
    affine = torch.stack([scale[0] * turn.cos(), shear - turn.sin(), move[0],
                          turn.sin(), scale[1] * turn.cos(), move[1]], 1).view(n, 2, 3)
    grid = F.affine_grid(affine, (n, 1, 8, 8), align_corners=False)
    return F.grid_sample(images.unsqueeze(1).float(), grid, align_corners=False).squeeze(1)


def main(folder):
    torch.manual_seed(1)
    data = load_digits()
    images, labels = data.images.astype(np.uint8), data.target.astype(np.uint8)
    x, y = torch.from_numpy(images[:-HELD_OUT]), torch.from_numpy(labels[:-HELD_OUT]).long()

    network, epochs = Digits(), 60
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        network.train()
        for batch in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(network(jitter(x[batch])), y[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()

    network.eval()
    held_out = torch.from_numpy(images[-HELD_OUT:])
    with torch.no_grad():
        right = (network(held_out).argmax(-1).numpy() == labels[-HELD_OUT:]).sum()
    print(f"{right} of {HELD_OUT} held-out digits right")
    torch.onnx.export(network, held_out[:1], f"{folder}/digits.onnx", opset_version=17,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,  # as it was trained
                      input_names=["image"], output_names=["probability"],
                      dynamic_axes={"image": {0: "batch"}, "probability": {0: "batch"}})
    with open(f"{folder}/digits.onnx", "ab") as model:  # protobuf merges appended fields
        model.write(b"\x32" + bytes([len(DOC)]) + DOC)  # ModelProto.doc_string
    np.save(f"{folder}/images.npy", images[-HELD_OUT:])
    np.save(f"{folder}/labels.npy", labels[-HELD_OUT:])


main(sys.argv[1])
