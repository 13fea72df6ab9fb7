/**
 * Decides who may join a live session, and with which roles.
 *
 * A client joins with a token, which has a name and roles. Tokens are given on the command line, or issued in exchange
 * for a ticket. A ticket is in the link that `/remote` shows. It can be used once, within two minutes. Only hashes of
 * tickets and tokens are kept, and only in memory. So all tickets and tokens end with the session.
 *
 * As long as no token was given and no ticket was issued, clients on this machine may join without a token. This does
 * not apply to clients that connect through a proxy. The options `strict` and `trustProxy` change these rules. All
 * clients share the session. So all of them have the same, empty user id, like the client at the terminal.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { BoundedMap, expiryClock } from '../base/index.ts';
import { type LiveClient, type LiveRole, withView } from './client/session.ts';
import { displayName, type LiveUser } from '../coder/index.ts';
import { A2AError, type User } from '../protocol/index.ts';
import { bearerOf, isLoopbackAddress, proxyHeader, type Authenticate } from '../http/index.ts';

/** How long a ticket is valid. */
export const TICKET_MS = 120_000;
/** Maximum number of tickets that are valid at the same time. The oldest ones are dropped. */
const MAX_TICKETS = 8;
/** Maximum number of tokens that were issued for tickets and are not revoked. */
const MAX_TOKENS = 64;
/** Maximum number of wrong tickets in a minute: from one address, and from all addresses together. */
const MAX_TRIES = 10;
const MAX_ALL_TRIES = 120;
const MINUTE_MS = 60_000;
const TOKEN_BYTES = 32;
/**
 * Size of a ticket. Its 88 bits cannot be guessed in two minutes. The QR code of its link, with an IPv4 address, fits a
 * terminal with 24 rows.
 */
const TICKET_BYTES = 11;
const MAX_NAME = 40;
/** The user of a request that is accepted although it has no valid token. */
const ANONYMOUS: User = { id: '' };

export interface LiveToken {
  readonly name: string;
  /** The roles of the client, in addition to `view`, which every client has. */
  readonly roles: readonly LiveRole[];
  readonly token: string;
}

export interface LiveAccessOptions {
  /**
   * The tokens from the command line. If there are none and `strict` is false, any local client may join until a ticket
   * is issued.
   */
  readonly tokens?: readonly LiveToken[] | undefined;
  /** Whether every client needs a token even if `tokens` is empty. */
  readonly strict?: boolean | undefined;
  /** Whether clients behind a proxy on this machine count as local clients. */
  readonly trustProxy?: boolean | undefined;
  /** The instruction for getting a new link. It is part of the error for a ticket that is not accepted. */
  readonly renewal?: string | undefined;
  /** Returns the time in milliseconds. */
  readonly now?: (() => number) | undefined;
}

interface Grant {
  readonly id: string;
  readonly user: LiveUser;
  readonly hash: Buffer;
  /** Whether the token was issued for a ticket. */
  readonly issued: boolean;
  /** Functions that close the token's open connections. */
  readonly connections: Set<() => void>;
}

interface Ticket {
  readonly hash: Buffer;
  readonly roles: readonly LiveRole[];
  readonly until: number;
}

/** The number of wrong tickets that were tried since `since`. After a minute, a new count starts. */
interface Tries {
  readonly since: number;
  count: number;
}

export class LiveAccess {
  readonly #trustProxy: boolean;
  readonly #alwaysStrict: boolean;
  readonly #renewal: string;
  readonly #now: () => number;
  readonly #grants = new Map<string, Grant>();
  readonly #revoked: Buffer[] = [];
  readonly #tries = new BoundedMap<Tries>(256);
  #allTries: Tries = { since: -Infinity, count: 0 };
  #tickets: Ticket[] = [];
  #made = 0;
  /** Whether every client needs a token. */
  #strict: boolean;

  constructor(options: LiveAccessOptions = {}) {
    const { tokens = [], strict = false, trustProxy = false, now = expiryClock() } = options;
    // The value does not change when tokens are revoked, so that no client can join without a token after the last
    // token was revoked.
    this.#alwaysStrict = strict || tokens.length > 0;
    this.#strict = this.#alwaysStrict;
    this.#trustProxy = trustProxy;
    this.#renewal = options.renewal ?? 'type /remote in the terminal to get a new link';
    this.#now = now;
    for (const { name, roles, token } of tokens) {
      this.#add({ name, roles, hash: hashOf(token), issued: false });
    }
  }

  /** Whether clients on this machine may join without a token. */
  get anonymous(): boolean {
    return !this.#strict;
  }

  /** Authenticates the request of a client. If a token is revoked, the connections of its requests are closed. */
  readonly authenticate: Authenticate = (request) => {
    const { header, remote, local } = request;
    const given = bearerOf(header('authorization'));
    const hash = given === undefined ? undefined : hashOf(given);
    const found = hash && matching(this.#grants.values(), hash);
    if (found) {
      const { connection } = request;
      if (connection) connection.onClose(this.hold(found.user, () => connection.drop()));
      return found.user;
    }
    if (!this.anonymous || !local || !isLoopbackAddress(remote)) return undefined;
    if (!this.#trustProxy && proxyHeader(request) !== undefined) return undefined;
    if (hash && this.#revoked.some((each) => timingSafeEqual(each, hash))) return undefined;
    return ANONYMOUS;
  };

  /** From now on, every new client needs a token. Returns a ticket for a token with these roles. */
  issueTicket(roles: readonly LiveRole[]): string {
    this.#strict = true;
    const ticket = newSecret(TICKET_BYTES);
    this.#tickets.push({ hash: hashOf(ticket), roles, until: this.#now() + TICKET_MS });
    this.#tickets.splice(0, this.#tickets.length - MAX_TICKETS);
    return ticket;
  }

  /**
   * Revokes all tickets, and all tokens that were issued for tickets. If local clients could join without a token
   * before the first ticket, they can do so again. Returns the ids of the revoked tokens.
   */
  withdraw(): readonly string[] {
    this.#tickets = [];
    const ids = this.#issued.map(({ id }) => id);
    for (const id of ids) this.revoke(id);
    this.#strict = this.#alwaysStrict;
    return ids;
  }

  /**
   * Exchanges a ticket for a token. Throws `unauthenticated` if the ticket is unknown, used or expired. If too many
   * wrong tickets were tried within a minute, throws `rateLimited` instead of `unauthenticated`. If there are too many
   * tokens, throws `unavailable`, and the ticket stays valid.
   */
  exchange(
    ticket: string,
    { name = '', remote }: { readonly name?: string | undefined; readonly remote: string },
  ): { readonly token: string; readonly roles: readonly LiveRole[] } {
    const hash = hashOf(ticket);
    const now = this.#now();
    this.#tickets = this.#tickets.filter(({ until }) => until > now);
    const found = matching(this.#tickets, hash);
    if (!found) {
      // The limit applies only to wrong tickets. A valid ticket is accepted even when the limit is reached, so a
      // stranger cannot prevent other devices from joining.
      this.#countTry(remote);
      throw new A2AError(
        'unauthenticated',
        `The ticket is unknown, was used before, or has expired: ${this.#renewal}`,
      );
    }
    if (this.#issued.length >= MAX_TOKENS) {
      throw new A2AError('unavailable', 'Too many tokens: revoke one with /clients');
    }
    this.#tickets = this.#tickets.filter((each) => each !== found);
    const token = newSecret(TOKEN_BYTES);
    const { user } = this.#add({
      name: this.#freeName(name),
      roles: found.roles,
      hash: hashOf(token),
      issued: true,
    });
    return { token, roles: user.roles };
  }

  /**
   * Registers an open connection of a client. `drop` is called if the client's token is revoked. Returns a function
   * that removes the connection.
   */
  hold(user: User | undefined, drop: () => void): () => void {
    const connections = this.#grants.get(tokenOf(user) ?? '')?.connections;
    connections?.add(drop);
    return () => connections?.delete(drop);
  }

  /**
   * Throws `unauthenticated` if the token with this id was revoked, for example after the request was authenticated. A
   * client without a token passes the check.
   */
  check(token: string | undefined): void {
    if (token === undefined || this.#grants.has(token)) return;
    throw new A2AError('unauthenticated', 'The token was revoked');
  }

  /** Revokes a token by its id, and closes its connections. Returns false if there is no such token. */
  revoke(id: string): boolean {
    const grant = this.#grants.get(id);
    if (!grant) return false;
    this.#grants.delete(id);
    this.#revoked.push(grant.hash);
    for (const drop of grant.connections) drop();
    return true;
  }

  /** The tokens, as clients that are not connected. */
  get tokens(): readonly LiveClient[] {
    return Array.from(this.#grants.values(), ({ id, user: { name, roles } }) => ({
      id,
      name,
      kind: 'a2a',
      roles,
      connected: false,
      token: id,
    }));
  }

  /** The grants of the tokens that were issued for tickets. */
  get #issued(): Grant[] {
    return [...this.#grants.values()].filter((grant) => grant.issued);
  }

  #add({ name, roles, ...rest }: Pick<Grant, 'hash' | 'issued'> & Omit<LiveToken, 'token'>): Grant {
    const id = `token-${++this.#made}`;
    const user: LiveUser = { id: '', name, roles: withView(roles), token: id };
    const grant: Grant = { id, user, connections: new Set(), ...rest };
    this.#grants.set(id, grant);
    return grant;
  }

  /**
   * Returns the wanted name, or `remote` if it is empty. Adds a number if another token or the terminal has this name.
   */
  #freeName(wanted: string): string {
    const name = displayName(wanted, MAX_NAME) || 'remote';
    const names = Array.from(this.#grants.values(), ({ user }) => user.name);
    const used = new Set(['terminal', ...names]);
    if (!used.has(name)) return name;
    for (let number = 2; ; number++) if (!used.has(`${name} ${number}`)) return `${name} ${number}`;
  }

  #countTry(remote: string): void {
    const now = this.#now();
    const fresh = (tries: Tries | undefined): Tries =>
      tries && now - tries.since < MINUTE_MS ? tries : { since: now, count: 0 };
    const own = fresh(this.#tries.get(remote));
    this.#allTries = fresh(this.#allTries);
    own.count += 1;
    this.#allTries.count += 1;
    this.#tries.set(remote, own);
    if (own.count <= MAX_TRIES && this.#allTries.count <= MAX_ALL_TRIES) return;
    throw new A2AError('rateLimited', 'Too many tickets were tried', { retryAfterSeconds: 60 });
  }
}

/** Returns the id of the token with which a client was authenticated, or undefined if it has no token. */
export function tokenOf(user: User | undefined): string | undefined {
  const token = user?.['token'];
  return typeof token === 'string' ? token : undefined;
}

/** Returns the entry with this hash. Compares all hashes, so that the timing does not reveal which one matched. */
function matching<Entry extends { readonly hash: Buffer }>(
  entries: Iterable<Entry>,
  hash: Buffer,
): Entry | undefined {
  let found: Entry | undefined;
  for (const entry of entries) if (timingSafeEqual(entry.hash, hash)) found = entry;
  return found;
}

function newSecret(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
