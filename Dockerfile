# Over stdio, for a client that starts it:
#   docker build -t holdfast .
#   docker run --rm -i -v holdfast:/data holdfast
# Over HTTP, for others; it refuses to start without tokens, and answers only those who call it by the name that
# HOLDFAST_PUBLIC_URL or HOLDFAST_ALLOWED_HOSTS gives it, see docs/security.md:
#   docker build --target http -t holdfast-http .
#   docker run --rm -p 8765:8765 -v holdfast:/data -e HOLDFAST_AUTH_TOKENS -e HOLDFAST_PUBLIC_URL holdfast-http
# The same with the driver of PostgreSQL in it, see docs/fleet.md and deploy/:
#   docker build --target http --build-arg EXTRA=postgres -t holdfast-fleet:1 .
# The digest is of 2026-09; docs/development.md says how to take a newer one.
ARG BASE=python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
FROM ${BASE} AS base

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /app
ARG EXTRA=
COPY requirements.txt requirements-postgres.txt ./
RUN pip install --no-deps --require-hashes -r requirements.txt ${EXTRA:+-r requirements-$EXTRA.txt}
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY server ./server
RUN pip install --no-deps --no-build-isolation . \
    && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin holdfast \
    && install -d -m 0700 -o holdfast -g holdfast /data

ENV HOLDFAST_HOME=/data
VOLUME /data
USER holdfast
# A root folder has no space of its own: notes are global unless a tool names one.
WORKDIR /
ENTRYPOINT ["holdfast"]

FROM base AS http
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/health', timeout=4)"]
CMD ["--http", "--host", "0.0.0.0", "--port", "8765"]

FROM base
