/**
 * Delivers webhooks through a guarded dialler: the address is checked at the moment of connecting, after the name was
 * resolved, so that no name can point inside later. Redirects are not followed.
 */
import { lookup as resolve } from 'node:dns';
import type { RequestOptions } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { A2AError } from '../protocol/index.ts';
import type { Deliver, Delivery } from '../server/index.ts';
import { addressGuard } from './addresses.ts';

export interface WebhookOptions {
  /** Private networks that webhooks may reach, in CIDR notation. */
  readonly allowNetworks?: readonly string[];
  readonly timeoutMs?: number;
}

export function webhookDelivery(options: WebhookOptions = {}): Deliver {
  const { timeoutMs = 15_000 } = options;
  const allowed = addressGuard(options.allowNetworks);

  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolve(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const open = addresses.filter(({ address }) => allowed(address));
      const [first] = open;
      if (!first) return callback(new Error('the address is in a network that is closed'), []);
      if (lookupOptions.all) callback(null, open);
      else callback(null, first.address, first.family);
    });
  };

  /** Throws for what is wrong whatever the name resolves to. */
  function check(text: string): URL {
    const url = URL.parse(text);
    if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      throw new A2AError('invalidParams', 'A webhook has an http or https URL');
    }
    if (url.username !== '' || url.password !== '') {
      throw new A2AError('invalidParams', "Credentials do not belong into a webhook's URL");
    }
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const literal =
      isIP(host) !== 0 ? host : /^(.+\.)?localhost\.?$/i.test(host) ? '127.0.0.1' : '';
    if (literal !== '' && !allowed(literal)) {
      throw new A2AError('invalidParams', 'Webhooks to this network are not allowed here');
    }
    return url;
  }

  function send({ url: text, headers, body }: Delivery, signal: AbortSignal): Promise<number> {
    const url = check(text);
    return new Promise((done, fail) => {
      const length = Buffer.byteLength(body);
      const requestOptions: RequestOptions = {
        method: 'POST',
        headers: { ...headers, 'content-length': length, 'user-agent': 'parley' },
        lookup,
        // A connection of its own: one from a pool might have been made past the guard.
        agent: false,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      };
      // Not by `import`: see serve.ts.
      const module = url.protocol === 'https:' ? 'node:https' : 'node:http';
      const request = process.getBuiltinModule(module).request(url, requestOptions, (response) => {
        // The status is all that counts; the body is not ours to read.
        done(response.statusCode ?? 0);
        response.on('error', () => {});
        response.destroy();
      });
      request.once('error', fail);
      request.end(body);
    });
  }

  return { check: (url) => void check(url), send };
}
