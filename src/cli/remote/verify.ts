/** `parley card --verify`: checks an agent's card, and whether the agent supports what the card declares. */
import {
  type AgentCheck,
  checkCapabilities,
  checkCard,
  type CheckedAgent,
  checkInterface,
  checkInterfaces,
  checkSignature,
  type ProblemName,
} from '../../client/checks/index.ts';
import { type Check, printChecks } from '../program/checks.ts';
import { type Target, discoverRaw } from './connection.ts';
import { trustedKeys } from './trusted-keys.ts';
import { word } from '../program/terminal.ts';

const TIMEOUT_MS = 15_000;

/** The flags of this command with which the user can solve a problem. */
const FLAGS: Readonly<Partial<Record<ProblemName, string>>> = {
  credentials: 'pass them with --token or --header',
  'other-origin': 'add --trusted-origin ORIGIN if you trust it',
  'untrusted-key': 'pass a key that you trust with --trust-key FILE',
};

/**
 * Prints the checks and returns the exit code. Accepts only signatures that match a public key in `files`. Without
 * files, accepts the keys that the agent's own server publishes.
 */
export async function verify(
  target: Target,
  files: readonly string[],
  json: boolean,
): Promise<number> {
  const keys = files.length === 0 ? undefined : trustedKeys(files);
  const { raw, ...found } = await discoverRaw(target, TIMEOUT_MS);
  const { card } = found;
  const agent: CheckedAgent = {
    address: target.url,
    found,
    optionsFor: () => ({ ...target, timeoutMs: TIMEOUT_MS }),
  };
  const interfaces = await checkInterfaces(card.supportedInterfaces, (offer) =>
    checkInterface(agent, offer),
  );
  const checks = [
    ...checkCard(found, raw),
    ...interfaces,
    ...(await checkCapabilities(agent)),
    await checkSignature(raw, found.url, { keys }),
  ];
  return printChecks(`${word(card.name)} ${word(card.version)}`, checks.map(shown), json);
}

function shown({ name, status, message, problem }: AgentCheck): Check {
  const advice = problem === undefined ? undefined : FLAGS[problem];
  const text = advice === undefined ? message : `${message}: ${advice}`;
  return { name: word(name), status, message: word(text) };
}
