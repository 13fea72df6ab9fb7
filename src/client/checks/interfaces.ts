/**
 * Checks whether an agent supports what its card declares. No task is started. Requests about tasks name a task that
 * does not exist, and the kind of error shows whether the operation is supported.
 */
import { reasonOf } from '../../base/index.ts';
import {
  A2AError,
  type AgentCard,
  type AgentInterface,
  type AgentService,
  type ErrorKind,
} from '../../protocol/index.ts';
import { type ConnectOptions, openService } from '../connect.ts';
import { type FoundCard, interfaceUrl } from '../connection/discover.ts';
import { ConnectionError } from '../connection/errors.ts';
import { isDenied, isOverload } from '../follow/retry.ts';
import { MAX_CHECKED, nameOfInterface } from './card-rules.ts';
import { type AgentCheck, doubtful, fine, wrong } from './check.ts';

/** Maximum number of interfaces that are checked at the same time. */
const AT_ONCE = 8;
const NO_TASK = '00000000-0000-7000-8000-000000000000';

export interface CheckedAgent {
  /** The agent's address, as the person gave it. */
  readonly address: string;
  readonly found: FoundCard;
  /** Returns the options for requests to an interface: headers, timeouts, trusted origins. */
  readonly optionsFor: (offer: AgentInterface) => ConnectOptions;
}

/**
 * Returns a service for one interface of the card. Throws a ConnectionError if this client does not support the
 * interface. Also throws it if there are headers and the interface is at an origin that must not receive them.
 */
export function serviceOf(agent: CheckedAgent, offer: AgentInterface): Promise<AgentService> {
  return openOffer(agent, offer, agent.optionsFor(offer));
}

async function openOffer(
  { address, found: { card, url } }: CheckedAgent,
  offer: AgentInterface,
  options: ConnectOptions,
): Promise<AgentService> {
  const found = { card: { ...card, supportedInterfaces: [offer] }, url };
  // The caller's preferred version or binding must not exclude this interface.
  const any = { ...options, version: undefined, binding: undefined };
  return (await openService(address, found, any)).service;
}

/**
 * Calls `ask`, and then `judge` or `explain`. `judge` gets undefined if `ask` succeeds, and the agent's error if the
 * agent returns one. `explain` gets any other error, such as a lost connection. If the agent is overloaded, neither is
 * called, and the result is a warning.
 */
async function judged(
  name: string,
  ask: () => Promise<unknown>,
  judge: (refusal: A2AError | undefined) => AgentCheck,
  explain = (error: unknown): AgentCheck => wrong(name, reasonOf(error), 'unreachable'),
): Promise<AgentCheck> {
  try {
    await ask();
  } catch (error) {
    if (!(error instanceof A2AError)) return explain(error);
    return isOverload(error) ? doubtful(name, `not checked: ${error.message}`) : judge(error);
  }
  return judge(undefined);
}

/** Checks whether an interface of the card answers as its version and binding require. */
export function checkInterface(agent: CheckedAgent, offer: AgentInterface): Promise<AgentCheck> {
  const name = nameOfInterface(offer);
  const { url } = offer;

  function judge(refusal: A2AError | undefined): AgentCheck {
    if (!refusal) {
      return wrong(name, `${url} returned a task for an id that does not exist`, 'invented-task');
    }
    if (refusal.kind === 'taskNotFound') return fine(name, `${url} responds`);
    return isDenied(refusal)
      ? doubtful(name, `${url} responds, but requires credentials`, 'credentials')
      : wrong(
          name,
          `${url} returned the error ${refusal.code}: ${refusal.message}`,
          'wrong-answer',
        );
  }

  function explain(error: unknown): AgentCheck {
    const reason = error instanceof ConnectionError ? error.reason : undefined;
    if (reason === 'interface') {
      return doubtful(
        name,
        `${url} was not checked: parley does not support this interface`,
        'not-supported-here',
      );
    }
    if (reason === 'untrusted') {
      const origin = interfaceUrl(offer, agent.found.url)?.origin;
      const what = `${url} was not checked: it is at another origin`;
      return doubtful(name, what, 'other-origin', origin);
    }
    return wrong(name, reasonOf(error), 'unreachable');
  }

  const ask = async () => (await serviceOf(agent, offer)).getTask({ id: NO_TASK });
  return judged(name, ask, judge, explain);
}

/** Calls `check` for the first MAX_CHECKED interfaces of a card, a few at a time. */
export async function checkInterfaces(
  offers: readonly AgentInterface[],
  check: (offer: AgentInterface) => Promise<AgentCheck>,
): Promise<AgentCheck[]> {
  const checks: AgentCheck[] = [];
  for (let at = 0; at < Math.min(offers.length, MAX_CHECKED); at += AT_ONCE) {
    const some = offers.slice(at, Math.min(at + AT_ONCE, MAX_CHECKED));
    checks.push(...(await Promise.all(some.map(check))));
  }
  const left = offers.length - checks.length;
  if (left > 0) checks.push(doubtful('interfaces', `${left} more were not checked`));
  return checks;
}

/**
 * Compares the capabilities and the security requirements in the card with the agent's answers, over the first
 * interface that this client can use.
 */
export async function checkCapabilities(agent: CheckedAgent): Promise<AgentCheck[]> {
  const { capabilities, supportedInterfaces } = agent.found.card;
  const usable = await firstUsable(agent, supportedInterfaces);
  if (!usable) {
    return [wrong('interfaces', 'none that parley can use', 'not-supported-here')];
  }
  const { offer, service } = usable;
  const streaming = async () => {
    try {
      const events = await service.subscribe({ id: NO_TASK });
      // Some agents open a stream even for an unknown task. The stream is closed, because its events are not needed.
      await events[Symbol.asyncIterator]().return?.();
    } catch (error) {
      // The server of the Python SDK opens a stream for an unknown task too, and then breaks the connection.
      const opened = error instanceof ConnectionError && error.reason === 'broken';
      if (!opened) throw error;
    }
  };
  const off: readonly ErrorKind[] = ['unsupportedOperation', 'methodNotFound'];
  return [
    await checkPromise('streaming', capabilities.streaming === true, off, streaming),
    await checkPromise(
      'push',
      capabilities.pushNotifications === true,
      [...off, 'pushNotSupported'],
      () => service.listPushConfigs({ id: NO_TASK }),
    ),
    await checkPromise(
      'extended card',
      capabilities.extendedAgentCard === true,
      [...off, 'extendedCardNotConfigured'],
      () => service.getExtendedCard({}),
    ),
    ...(requiresCredentials(agent.found.card) ? [await checkClosed(agent, offer)] : []),
  ];
}

/** Returns whether the card requires credentials. They are optional if a security requirement lists no scheme. */
function requiresCredentials({ security = [] }: AgentCard): boolean {
  return (
    security.length > 0 && security.every((requirement) => Object.keys(requirement).length > 0)
  );
}

async function firstUsable(agent: CheckedAgent, offers: readonly AgentInterface[]) {
  for (const offer of offers) {
    const service = await serviceOf(agent, offer).catch(() => undefined);
    if (service) return { offer, service };
  }
  return undefined;
}

/** Compares what the card declares with the answer to a request. `off` are the errors of an unsupported feature. */
function checkPromise(
  name: string,
  promised: boolean,
  off: readonly ErrorKind[],
  ask: () => Promise<unknown>,
): Promise<AgentCheck> {
  return judged(name, ask, (refusal) => {
    if (refusal && isDenied(refusal)) {
      return doubtful(name, 'not checked, because it requires credentials', 'credentials');
    }
    const isOff = refusal !== undefined && off.includes(refusal.kind);
    if (promised && isOff) {
      return wrong(name, `declared, but not supported: ${refusal.message}`, 'broken-promise');
    }
    if (promised) return fine(name, 'declared and supported');
    return isOff
      ? fine(name, 'neither declared nor supported')
      : doubtful(name, 'supported, but not declared in the card', 'undeclared');
  });
}

/** Checks that an agent whose card requires credentials refuses a request without them. */
function checkClosed(agent: CheckedAgent, offer: AgentInterface): Promise<AgentCheck> {
  const name = 'security';
  const ask = async () => {
    const service = await openOffer(agent, offer, { ...agent.optionsFor(offer), headers: {} });
    return service.getTask({ id: NO_TASK });
  };
  return judged(name, ask, (refusal) => {
    if (refusal && isDenied(refusal)) return fine(name, 'requests without credentials are refused');
    const what = 'the card requires credentials, but the agent accepts requests without them';
    return wrong(name, what, 'open');
  });
}
