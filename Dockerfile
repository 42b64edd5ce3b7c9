# Build:  docker build -t holdfast .
# Run:    docker run --rm -i -v holdfast:/data holdfast
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /app
COPY requirements.txt ./
RUN pip install --require-hashes -r requirements.txt
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
