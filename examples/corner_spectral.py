"""Spectral mixer: a learned filter over the time axis, a band-limited envelope and a power spectrum."""

import torch
import torch.nn as nn

BATCH = 16
STEPS = 4095
CHANNELS = 256
CUTOFF = 300


class Model(nn.Module):
    def __init__(self, steps, channels, cutoff):
        super().__init__()
        self.cutoff = cutoff
        self.filter = nn.Parameter(torch.randn(steps // 2 + 1, channels, 2) * 0.5)
        self.window = nn.Parameter(torch.rand(steps) + 0.5)

    def forward(self, x):
        n = x.shape[1]
        spectrum = torch.view_as_real(torch.fft.rfft(x, dim=1, norm="ortho"))
        re, im = spectrum[..., 0], spectrum[..., 1]
        wr, wi = self.filter[..., 0], self.filter[..., 1]
        mixed = torch.complex(re * wr - im * wi, re * wi + im * wr)
        filtered = torch.fft.irfft(mixed, n=n, dim=1, norm="ortho")
        power = torch.log1p(mixed.real.square() + mixed.imag.square())

        series = (x * self.window[:, None]).transpose(1, 2)
        full = torch.fft.fft(series)
        gain = torch.zeros(n, device=x.device, dtype=x.dtype)
        gain[0] = 1.0
        gain[1 : self.cutoff] = 2.0
        analytic = torch.fft.ifft(torch.complex(full.real * gain, full.imag * gain))
        envelope = (analytic.real.square() + analytic.imag.square()).sqrt()
        short = torch.fft.rfft(series, n=2 * self.cutoff)
        return filtered, power, envelope.transpose(1, 2), analytic.imag, short.real - short.imag


def get_inputs():
    return [torch.randn(BATCH, STEPS, CHANNELS)]


def get_init_inputs():
    return [STEPS, CHANNELS, CUTOFF]
