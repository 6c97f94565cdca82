# The `continuations` command in an image: by default the HTTP API with the inbox; also the worker, and every other command.
# glibc: Temporal's native core has no build for musl (Alpine).
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build
# An application brings the peers; the image brings the versions of the lock file, and of the native core only its own platform.
RUN node deploy/production-dependencies.js \
  && npm prune --omit=dev --omit=optional --ignore-scripts \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
    ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/bin ./bin
COPY --from=build /build/dist ./dist
USER node
ENV CONTINUATIONS_HOST=0.0.0.0 CONTINUATIONS_PORT=8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.CONTINUATIONS_PORT}/readyz`).then(({ok}) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/continuations.js"]
CMD ["serve"]
