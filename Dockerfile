# One image for the game master, the players and the pages: Python, what it needs of the system, and nothing else. BASE is
# any Debian or Ubuntu with Python 3.11 or later in its packages; without an image registry make one with
# tools/base-image and pass its name.
ARG BASE=debian:bookworm-slim
FROM ${BASE} AS build

RUN { command -v strip && python3 -c 'import ensurepip, venv'; } >/dev/null 2>&1 || \
    { apt-get update && apt-get install -y --no-install-recommends binutils python3 python3-venv; }
RUN python3 -m venv /opt/ggp

# The dependencies change seldom: a layer of their own, installed for a package that is still empty.
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
RUN mkdir ggp players gamemaster rules && touch ggp/__init__.py players/__init__.py gamemaster/__init__.py \
    && PIP_CONSTRAINT=constraints.txt /opt/ggp/bin/pip install --no-cache-dir --no-compile --disable-pip-version-check \
       '.[postgresql]'

COPY ggp ggp
COPY players players
COPY gamemaster gamemaster
COPY rules rules
COPY containers/collect .
RUN PIP_CONSTRAINT=constraints.txt /opt/ggp/bin/pip install --no-cache-dir --no-compile --disable-pip-version-check \
       --force-reinstall --no-deps . \
    && ./collect /image

FROM scratch
COPY --from=build /image /
WORKDIR /
ENV PATH=/opt/ggp/bin:/usr/bin PYTHONUNBUFFERED=1 GGP_CACHE=/var/cache/ggp MPLCONFIGDIR=/tmp/matplotlib
USER nobody
# Compiling the kernels takes minutes; without them (KERNELS=none) `mcts` does it each time that it starts.
ARG KERNELS=compiled
RUN mkdir -p /var/cache/ggp && { [ "$KERNELS" != compiled ] || ggp cache warm; } && chmod -R a+rX /var/cache/ggp
COPY containers/entrypoint /usr/local/bin/ggp-entrypoint
ENTRYPOINT ["/usr/local/bin/ggp-entrypoint"]
