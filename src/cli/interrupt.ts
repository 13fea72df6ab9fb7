/** Ctrl-C. A command may say how it wants to end; most just end, with the contract's code. */
import { EXIT } from './exit.ts';

let respond = (): void => process.exit(EXIT.interrupted);

/** Replaces what Ctrl-C does. */
export function onInterrupt(what: () => void): void {
  respond = what;
}

/** From now on Ctrl-C is ours. */
export function listenForInterrupt(): void {
  process.on('SIGINT', () => respond());
}
