# A PostgreSQL server for the store of tournaments, from the packages of Debian or Ubuntu.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

RUN mkdir -p /etc/postgresql-common \
    && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf \
    && apt-get update && apt-get install -y --no-install-recommends postgresql && rm -rf /var/lib/apt/lists/* \
    && ln -s /usr/lib/postgresql/*/bin /usr/local/postgresql && install -d -o postgres /var/lib/postgresql
COPY postgresql /usr/local/bin/serve-postgresql

ENV PATH=/usr/local/postgresql:${PATH}
USER postgres
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["serve-postgresql"]
