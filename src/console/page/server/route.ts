/**
 * The place that the page shows. The fragment of the page's address contains the place: `#/tasks/ID?agent=NAME`. So a
 * place can be bookmarked, the browser's Back works, and the server serves one file for all places.
 */
import { signal } from '@preact/signals';

export interface Route {
  /** The segments of the path. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export const route = signal(routeIn(location.hash));
/** The fragment that `route` was read from. It may be outdated, because `hashchange` comes after the change. */
let readFrom = location.hash;

addEventListener('hashchange', () => {
  readFrom = location.hash;
  route.value = routeIn(readFrom);
});

function routeIn(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const segments = path.split('/').filter((segment) => segment !== '');
  return {
    path: segments.map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns the address of a place, for a link. Empty values are left out of the query. */
export function hrefOf(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  const search = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
}

/** Goes to a place. With `replace`, the browser's Back skips the place that was left. */
export function goTo(href: string, { replace = false } = {}): void {
  if (!replace) {
    location.hash = href;
    return;
  }
  history.replaceState(null, '', href);
  readFrom = location.hash;
  route.value = routeIn(href);
}

/**
 * Changes the query of a place, unless the person has left the place. The query is read from the address, because the
 * person may just have followed a link that has changed the query.
 */
export function changeQuery(
  path: readonly string[],
  changed: Readonly<Record<string, string>>,
): void {
  const place = routeIn(location.hash);
  if (path.some((segment, at) => place.path[at] !== segment)) return;
  goTo(hrefOf(place.path, { ...place.query, ...changed }), { replace: true });
}

/** Replaces a place in the address, unless the person has gone to another place meanwhile. */
export function replacePlace(place: Route, href: string): void {
  if (route.peek() === place && location.hash === readFrom) goTo(href, { replace: true });
}
