// Rewrites package.json for the image: the peers that are not optional become dependencies, at the versions that are tested;
// what only development needs goes. `npm prune --omit=dev` then keeps what the lock file has installed.
import { readFileSync, writeFileSync } from 'node:fs';

const { devDependencies, peerDependencies, peerDependenciesMeta, ...manifest } = JSON.parse(
  readFileSync('package.json', 'utf8'),
);
const needed = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
for (const name of needed) manifest.dependencies[name] = devDependencies[name];
writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
