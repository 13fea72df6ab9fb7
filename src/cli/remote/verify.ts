/**
 * `parley card --verify`: checks whether an agent supports what its card declares. No task is started. Every request
 * names a task that does not exist, and the kind of error shows whether the operation is supported.
 */
import { reasonOf } from '../../base/index.ts';
import {
  CardSignatureError,
  ConnectionError,
  openService,
  verifyCard,
  type FoundCard,
  type PublicJwk,
} from '../../client/index.ts';
import {
  A2AError,
  type AgentCard,
  type AgentInterface,
  type AgentService,
  type ErrorKind,
} from '../../protocol/index.ts';
import { broken, type Check, ok, printChecks, warning } from '../program/checks.ts';
import type { Target } from './connection.ts';
import { discoverRaw } from './raw-card.ts';
import { trustedKeys } from './trusted-keys.ts';
import { word } from '../program/terminal.ts';

const NO_TASK = '00000000-0000-7000-8000-000000000000';
const TIMEOUT_MS = 15_000;

export interface VerifyOptions {
  /**
   * Files with the public keys that may sign the card. If there are none, the keys of the agent's own server are used.
   */
  readonly files: readonly string[];
  readonly json: boolean;
}

export async function verify(target: Target, { files, json }: VerifyOptions): Promise<number> {
  const keys = files.length === 0 ? undefined : trustedKeys(files);
  const { raw, ...found } = await discoverRaw(target, TIMEOUT_MS);
  const { card } = found;
  const interfaces = await Promise.all(
    card.supportedInterfaces.map((offer) => checkInterface(offer, found, target)),
  );
  const checks = [
    ok('card', `found at ${word(found.url)}; valid`),
    ...checkSkills(card),
    ...interfaces,
    ...(await checkCapabilities(found, target)),
    await checkSignature(raw, found.url, keys),
  ];
  return printChecks(`${word(card.name)} ${word(card.version)}`, checks, json);
}

function checkSkills({ skills }: AgentCard): Check[] {
  const ids = skills.map(({ id }) => id);
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice !== undefined) return [broken('skills', `the id "${word(twice)}" occurs twice`)];
  if (skills.length === 0)
    return [warning('skills', 'none: clients cannot tell what the agent does')];
  return [ok('skills', skills.map(({ name }) => word(name)).join(', '))];
}

/**
 * Returns a client for one interface of the card. Throws a ConnectionError if parley does not support the interface, or
 * if it is at another origin, which must not receive the headers.
 */
function serviceFor(offer: AgentInterface, { card, url }: FoundCard, target: Target): AgentService {
  const found = { card: { ...card, supportedInterfaces: [offer] }, url };
  // The preferred version must not prevent the checks of the other interfaces.
  const options = { ...target, version: undefined, timeoutMs: TIMEOUT_MS };
  return openService(target.url, found, options).service;
}

/** Returns the agent's error, or undefined if the request succeeds. */
async function refusalOf(question: Promise<unknown>): Promise<A2AError | undefined> {
  try {
    await question;
    return undefined;
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
}

async function checkInterface(
  offer: AgentInterface,
  found: FoundCard,
  target: Target,
): Promise<Check> {
  const name = `${word(offer.protocolVersion)} ${word(offer.protocolBinding)}`;
  const url = word(offer.url);
  try {
    const refusal = await refusalOf(serviceFor(offer, found, target).getTask({ id: NO_TASK }));
    if (!refusal) return broken(name, `${url} returned a task that does not exist`);
    switch (refusal.kind) {
      case 'taskNotFound':
        return ok(name, `${url} responds`);
      case 'unauthenticated':
      case 'forbidden':
        return warning(
          name,
          `${url} responds, but requires credentials: pass them with --token or --header`,
        );
      default:
        return broken(name, `${url} returned the error ${refusal.code}: ${word(refusal.message)}`);
    }
  } catch (error) {
    const reason = error instanceof ConnectionError ? error.reason : undefined;
    if (reason === 'interface') {
      return warning(name, `${url} was not checked: parley does not support this interface`);
    }
    if (reason === 'untrusted') {
      return warning(
        name,
        `${url} was not checked: it is at another origin, which gets no headers without --trusted-origin`,
      );
    }
    return broken(name, word(reasonOf(error)));
  }
}

async function checkCapabilities(found: FoundCard, target: Target): Promise<Check[]> {
  const { capabilities, security = [], supportedInterfaces } = found.card;
  const [usable] = supportedInterfaces.flatMap((offer) => {
    try {
      return [{ offer, service: serviceFor(offer, found, target) }];
    } catch {
      return [];
    }
  });
  if (!usable) return [broken('interfaces', 'none that parley can use')];
  const { offer, service } = usable;

  const promise = async (
    name: string,
    promised: boolean,
    off: readonly ErrorKind[],
    question: () => Promise<unknown>,
  ): Promise<Check> => {
    try {
      const refusal = await refusalOf(question());
      if (refusal?.kind === 'unauthenticated' || refusal?.kind === 'forbidden') {
        return warning(name, 'not checked: pass credentials with --header');
      }
      const isOff = refusal !== undefined && off.includes(refusal.kind);
      if (promised && isOff)
        return broken(name, `declared, but not supported: ${word(refusal.message)}`);
      if (promised) return ok(name, 'declared and supported');
      return isOff
        ? ok(name, 'neither declared nor supported')
        : warning(name, 'supported, but not declared in the card');
    } catch (error) {
      return broken(name, word(reasonOf(error)));
    }
  };
  const streaming = () =>
    service.subscribe({ id: NO_TASK }).catch((error: unknown) => {
      // The server of the Python SDK opens a stream even for an unknown task, and then breaks the connection.
      const opened = error instanceof ConnectionError && error.reason === 'broken';
      if (!opened) throw error;
    });
  const pushes = () => service.listPushConfigs({ id: NO_TASK });
  const extended = () => service.getExtendedCard({});
  const off: readonly ErrorKind[] = ['unsupportedOperation', 'methodNotFound'];
  return [
    await promise('streaming', capabilities.streaming === true, off, streaming),
    await promise(
      'push',
      capabilities.pushNotifications === true,
      [...off, 'pushNotSupported'],
      pushes,
    ),
    await promise(
      'extended card',
      capabilities.extendedAgentCard === true,
      [...off, 'extendedCardNotConfigured'],
      extended,
    ),
    ...(security.length > 0 ? [await checkClosed(offer, found, target)] : []),
  ];
}

/** Checks that an agent whose card requires credentials refuses a request without them. */
async function checkClosed(
  offer: AgentInterface,
  found: FoundCard,
  target: Target,
): Promise<Check> {
  const name = 'security';
  try {
    const service = serviceFor(offer, found, { ...target, headers: {} });
    const refusal = await refusalOf(service.getTask({ id: NO_TASK }));
    return refusal?.kind === 'unauthenticated' || refusal?.kind === 'forbidden'
      ? ok(name, 'requests without credentials are refused')
      : broken(name, 'the card requires credentials, but the agent accepts requests without them');
  } catch (error) {
    return broken(name, word(reasonOf(error)));
  }
}

async function checkSignature(
  raw: unknown,
  url: string,
  keys: readonly PublicJwk[] | undefined,
): Promise<Check> {
  const name = 'signature';
  try {
    const { alg, kid, jku } = await verifyCard(raw, url, keys ? { keys } : true);
    const where = jku === undefined ? '--trust-key' : word(jku);
    const key = kid === undefined ? 'the key' : `the key ${word(kid)}`;
    return ok(name, `valid: ${alg}, ${key} of ${where}`);
  } catch (error) {
    if (!(error instanceof CardSignatureError)) throw error;
    if (keys) return broken(name, word(error.message));
    if (error.reason === 'unsigned') return ok(name, 'unsigned');
    // The user decides whether to trust the signer, so this is only a warning.
    return error.reason === 'untrusted'
      ? warning(
          name,
          'no signature by a key that the server publishes: pass a key that you trust with --trust-key FILE',
        )
      : broken(name, word(error.message));
  }
}
