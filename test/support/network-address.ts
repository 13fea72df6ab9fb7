/** An IPv4 address of this machine that is not loopback, or undefined if there is none. */
import { networkInterfaces } from 'node:os';

export function networkAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}
