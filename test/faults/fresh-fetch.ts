/** A fetch with a connection of its own for each request, so that the load balancer gives it to the next node. */
export const freshFetch: typeof globalThis.fetch = (input, init) => {
  const headers = new Headers(input instanceof Request ? input.headers : init?.headers);
  for (const [name, value] of new Headers(init?.headers)) headers.set(name, value);
  headers.set('connection', 'close');
  return fetch(input, { ...init, headers });
};
