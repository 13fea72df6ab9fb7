/**
 * The clients that use the session over plain HTTP. Each of them is a client of the session like any other. Its name is
 * the name of its token. A client without a token has the name in its message, or `http` if the message has none.
 * Two requests belong to the same client if they have the same name, roles and token. A client stays on the list of
 * clients for a moment after its last request. Without this delay, a client with many short requests would appear and
 * disappear with each of them.
 */
import { clientName, rolesOf } from '../../coder/index.ts';
import type { Call, Message } from '../../protocol/index.ts';
import type { Live } from '../hub.ts';
import type { Member } from '../member.ts';
import { tokenOf } from '../access.ts';

/** How long a client stays after its last request. */
const STAY_MS = 3000;
/** With more clients than this, a client leaves immediately after its last request. */
const MAX_STAYING = 32;

interface Client {
  readonly member: Member;
  /** The number of open requests. */
  requests: number;
  timer?: NodeJS.Timeout | undefined;
}

/** A client during one request. It must be disposed of once, when the request is over. */
export interface Visit extends Disposable {
  readonly member: Member;
}

export class HttpClients {
  readonly #clients = new Map<string, Client>();
  #live: Live | undefined;

  enter(live: Live, call: Call, message?: Message): Visit {
    if (this.#live !== live) this.#clients.clear();
    this.#live = live;
    const roles = rolesOf(call.user);
    const name = clientName(call.user, message) || 'http';
    const token = tokenOf(call.user);
    const key = JSON.stringify([name, roles, token]);
    let client = this.#clients.get(key);
    if (!client || client.member.left) {
      client = { member: live.join({ kind: 'a2a', name, roles, token }), requests: 0 };
      this.#clients.set(key, client);
    }
    const here = client;
    clearTimeout(here.timer);
    here.requests += 1;
    let left = false;
    return {
      member: here.member,
      [Symbol.dispose]: () => {
        if (left) return;
        left = true;
        here.requests -= 1;
        if (here.requests === 0) this.#release(key, here);
      },
    };
  }

  #release(key: string, client: Client): void {
    const remove = () => {
      if (this.#clients.get(key) === client) this.#clients.delete(key);
      void client.member.close();
    };
    if (this.#clients.size > MAX_STAYING) return remove();
    client.timer = setTimeout(remove, STAY_MS).unref();
  }
}
