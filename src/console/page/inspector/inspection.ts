/** The inspection of one agent: its card in both protocol versions, the checks, and the requests of the person. */
import { batch, signal } from '@preact/signals';
import {
  type ConnectOptions,
  ConnectionError,
  discover,
  type FoundCard,
  interfaceUrl,
  isGrpc,
} from '../../../client/index.ts';
import {
  type AgentCheck,
  checkCapabilities,
  checkCard,
  type CheckedAgent,
  checkInterface,
  checkInterfaces,
  checkSignature,
  type SignatureResult,
  verifySignatures,
} from '../../../client/checks/index.ts';
import { type AgentInterface, type ProtocolVersion, VERSIONS } from '../../../protocol/index.ts';
import type { AgentAccess } from './agent-access.ts';
import { type RecordedExchange, ExchangeLog, isSecretName } from './exchanges.ts';

/** Timeouts for an answer of the agent, for the next event of a stream, and for the card. */
const ANSWER_MS = 60_000;
const SILENT_MS = 300_000;
const CARD_MS = 15_000;
/** Maximum size of a response, and of an event of a stream. */
const MAX_BYTES = 8 * 2 ** 20;

/** A header that the person has entered. */
export interface OwnHeader {
  /** The name in lower case. */
  readonly name: string;
  readonly value: string;
  readonly secret: boolean;
}

/** A card as the agent sends it to clients of one protocol version. */
export interface CardCopy extends FoundCard {
  readonly raw: unknown;
}

export class Inspection {
  readonly access: AgentAccess;
  readonly log = new ExchangeLog();
  readonly headers = signal<readonly OwnHeader[]>([]);
  /** The card in each protocol version in which it could be read. */
  readonly cards = signal<ReadonlyMap<ProtocolVersion, CardCopy>>(new Map());
  readonly checks = signal<readonly AgentCheck[]>([]);
  readonly signatures = signal<readonly SignatureResult[]>([]);
  readonly busy = signal(false);
  /** Why the last inspection failed, for example because there is no card. */
  readonly error = signal<unknown>(undefined);
  #round = 0;

  constructor(access: AgentAccess) {
    this.access = access;
  }

  /** The card in the newest protocol version in which it could be read. */
  get card(): CardCopy | undefined {
    return VERSIONS.toReversed().flatMap((version) => this.cards.value.get(version) ?? [])[0];
  }

  /** Adds a header, or replaces the header with the same name. Throws a TypeError if HTTP does not allow the header. */
  setHeader(name: string, value: string, secret: boolean): void {
    const lower = name.trim().toLowerCase();
    // The browser's error is replaced, because it would contain the value, which may be a secret.
    try {
      new Headers().set(lower, value);
    } catch {
      throw new TypeError('HTTP does not allow this name or this value.');
    }
    const others = this.headers.value.filter((each) => each.name !== lower);
    const header = { name: lower, value, secret: secret || isSecretName(lower) };
    this.headers.value = [...others, header];
  }

  removeHeader(name: string): void {
    this.headers.value = this.headers.value.filter((each) => each.name !== name);
  }

  /** Returns the options for requests to this URL. Only trusted origins get the headers of the person. */
  optionsFor(url: string, onSent?: (exchange: RecordedExchange) => void): ConnectOptions {
    const own = this.headers.value;
    const secrets = new Set(own.filter(({ secret }) => secret).map(({ name }) => name));
    const entered = Object.fromEntries(own.map(({ name, value }) => [name, value]));
    return {
      fetch: this.log.fetchThrough(this.access, secrets, onSent),
      headers: this.access.trusts(url) ? { ...this.access.keyHeaders, ...entered } : {},
      trustedOrigins: this.access.trusts(url) ? [new URL(url).origin] : [],
      timeoutMs: ANSWER_MS,
      idleTimeoutMs: SILENT_MS,
      maxResponseBytes: MAX_BYTES,
      maxEventBytes: MAX_BYTES,
    };
  }

  /** Returns the agent for the checks and for requests. Throws if there is no card. */
  agent(onSent?: (exchange: RecordedExchange) => void): CheckedAgent {
    const { card: found } = this;
    if (!found) throw new ConnectionError('card', 'The agent has no card that can be read');
    return {
      address: this.access.address,
      found,
      optionsFor: (offer) => this.optionsFor(addressOf(offer, found), onSent),
    };
  }

  /** Reads the card and checks the agent. If it is called again, the results of the earlier call are ignored. */
  async inspect(): Promise<void> {
    const round = ++this.#round;
    const isCurrent = () => round === this.#round;
    batch(() => {
      this.busy.value = true;
      this.error.value = undefined;
      this.cards.value = new Map();
      this.checks.value = [];
      this.signatures.value = [];
    });
    try {
      const problems: unknown[] = [];
      for (const version of VERSIONS.toReversed()) {
        try {
          const copy = await this.#readCard(version);
          if (!isCurrent()) return;
          this.cards.value = new Map([...this.cards.value, [version, copy]]);
        } catch (error) {
          problems.push(error);
        }
      }
      // An agent may have a card for only one of the versions. This is not an error.
      if (this.cards.value.size === 0) throw problems[0];
      await this.#check(isCurrent);
    } catch (error) {
      if (isCurrent()) this.error.value = error;
    } finally {
      if (isCurrent()) this.busy.value = false;
    }
  }

  async #readCard(version: ProtocolVersion): Promise<CardCopy> {
    const { address } = this.access;
    const sent: RecordedExchange[] = [];
    const options = this.optionsFor(address, (exchange) => sent.push(exchange));
    const found = await discover(address, { ...options, version, timeoutMs: CARD_MS });
    const text = new TextDecoder().decode(sent.at(-1)?.bytes);
    return { ...found, raw: JSON.parse(text) };
  }

  async #check(isCurrent: () => boolean): Promise<void> {
    const agent = this.agent();
    const { card: copy } = this;
    if (!copy) return;
    const add = (...more: readonly AgentCheck[]) => {
      if (isCurrent()) this.checks.value = [...this.checks.value, ...more];
    };
    add(...checkCard(copy, copy.raw));
    const { supportedInterfaces } = copy.card;
    const { tryGrpc } = this.access;
    const check = (offer: AgentInterface) =>
      tryGrpc && isGrpc(offer)
        ? tryGrpc(offer, copy.url, this.optionsFor(addressOf(offer, copy)).headers)
        : checkInterface(agent, offer);
    add(...(await checkInterfaces(supportedInterfaces, check)));
    add(...(await checkCapabilities(agent)));
    if (!canVerify()) return;
    const fetch = onceEach(this.optionsFor(copy.url).fetch);
    add(await checkSignature(copy.raw, copy.url, { fetch }));
    const results = await verifySignatures(copy.raw, copy.url, { fetch });
    if (isCurrent()) this.signatures.value = results;
  }
}

/**
 * Returns whether this browser can verify signatures. Browsers allow it only on https pages, and on pages of this
 * machine.
 */
export function canVerify(): boolean {
  return isSecureContext;
}

function addressOf(offer: AgentInterface, found: FoundCard): string {
  return interfaceUrl(offer, found.url)?.href ?? found.url;
}

/** Returns a `fetch` that requests each address once, because all signatures of a card may have the same key set. */
function onceEach(fetch: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  const known = new Map<string, Promise<Response>>();
  return async (input, init) => {
    const key = input instanceof Request ? input.url : String(input);
    const response = known.get(key) ?? fetch(input, init);
    known.set(key, response);
    return (await response).clone();
  };
}
