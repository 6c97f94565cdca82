/** The network between two programs, which can be cut. */
import { connect, createServer, type Socket } from 'node:net';
import { LOOPBACK } from '../../src/dev/tcp-port.ts';

export interface CuttableLink {
  readonly port: number;
  /** Ends what is connected, and lets nobody connect until `restore`. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function startProxy(targetPort: number): Promise<CuttableLink> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(targetPort, LOOPBACK);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cut() {
      isCut = true;
      end();
    },
    restore() {
      isCut = false;
    },
    async close() {
      end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
