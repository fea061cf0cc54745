# One image for the game master and the players. BASE is any Debian or Ubuntu with Python 3.11 or later in its packages;
# without an image registry make one with tools/base-image and pass its name.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

RUN python3 -c 'import ensurepip, venv' 2>/dev/null || \
    { apt-get update && apt-get install -y --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*; }
RUN python3 -m venv /opt/ggp

# The dependencies change seldom: a layer of their own, installed for a package that is still empty.
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
RUN mkdir ggp players gamemaster rules && touch ggp/__init__.py players/__init__.py gamemaster/__init__.py \
    && PIP_CONSTRAINT=constraints.txt /opt/ggp/bin/pip install --no-cache-dir --disable-pip-version-check '.[postgresql]'

COPY ggp ggp
COPY players players
COPY gamemaster gamemaster
COPY rules rules
RUN PIP_CONSTRAINT=constraints.txt \
    /opt/ggp/bin/pip install --no-cache-dir --disable-pip-version-check --force-reinstall --no-deps . \
    && /opt/ggp/bin/python -m compileall -q /opt/ggp/lib

WORKDIR /
ENV PATH=/opt/ggp/bin:${PATH} PYTHONUNBUFFERED=1 GGP_CACHE=/var/cache/ggp MPLCONFIGDIR=/tmp/matplotlib
RUN install -d -o nobody /var/cache/ggp
USER nobody
RUN ggp cache warm && chmod -R a+rX /var/cache/ggp
COPY containers/entrypoint /usr/local/bin/ggp-entrypoint
ENTRYPOINT ["ggp-entrypoint"]
