/** Free and taken TCP ports on the loopback address. */
import { createServer } from 'node:net';
import { DevError } from './dev-error.ts';

/** The address on which development servers listen. */
export const LOOPBACK = '127.0.0.1';

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  return await listenOnce(0);
}

/** Throws a `DevError` when somebody already listens on the port. */
export async function assertPortFree(port: number, what: string): Promise<void> {
  try {
    await listenOnce(port);
  } catch (cause) {
    throw portInUse(port, what, cause);
  }
}

/** The error for a port that cannot be had. */
export function portInUse(port: number, what: string, cause?: unknown): DevError {
  const denied = (cause as NodeJS.ErrnoException | undefined)?.code === 'EACCES';
  const why = denied ? 'needs rights that you do not have' : 'is already in use';
  return new DevError('port-in-use', `${what} cannot listen on port ${port}: it ${why}. Choose another port.`, {
    cause,
  });
}

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, LOOPBACK, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port));
    });
  });
}
