/** Finds the WebSocket of a live session in the agent card of its server. */
import { discover } from '../../client/index.ts';
import { LIVE_BINDING } from './binding.ts';

const CARD_MS = 5000;

/**
 * Returns the address of the live session that the card at `url` declares. Returns `url` if there is no card, or if the
 * card declares no live session. An address at another origin is ignored, because it would receive the token.
 *
 *   const session = await joinLive(await findLive('https://desk.example'), { token });
 */
export async function findLive(url: string): Promise<string> {
  try {
    const given = new URL(url);
    given.hash = '';
    const { card } = await discover(given.href.replace(/\/ws$/, ''), { timeoutMs: CARD_MS });
    const offer = card.supportedInterfaces.find(
      ({ protocolBinding }) => protocolBinding === LIVE_BINDING,
    );
    const found = offer && URL.parse(offer.url);
    return found && originOf(found) === originOf(given) ? found.href : url;
  } catch {
    return url;
  }
}

/** Returns the origin with the scheme of HTTP, so that `ws://a` and `http://a` have the same origin. */
function originOf({ protocol, host }: URL): string {
  return `${protocol.replace('ws', 'http')}//${host}`;
}
