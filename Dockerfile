# The program `parley` as a container: docker build -t parley .
# compose.yaml runs it with a read-only root file system. See docs/install.md.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --no-audit --no-fund \
  && npm run build \
  && npm pack ./dist/parley-cli --pack-destination /tmp

FROM node:24-bookworm-slim
# The coding agent uses git for checkpoints and in its workspace.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends git \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /tmp/parley-cli-*.tgz /tmp/
RUN npm install --global --no-audit --no-fund /tmp/parley-cli-*.tgz \
  && npm cache clean --force \
  && rm /tmp/parley-cli-*.tgz \
  && mkdir /data /workspace \
  && chown node:node /data /workspace

USER node
WORKDIR /workspace
# Tasks, sessions and keys. Mount a volume here to keep them.
ENV PARLEY_HOME=/data
VOLUME ["/data"]
EXPOSE 41242
# Other machines need a token: docker run -e PARLEY_TOKEN=… . Without one, the server does not start on this address.
ENV PARLEY_HOST=0.0.0.0
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:41242/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["parley"]
CMD ["serve"]
