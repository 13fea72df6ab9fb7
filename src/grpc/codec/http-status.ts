/** Maps gRPC statuses to HTTP statuses with the same meaning. */

const HTTP_STATUS: ReadonlyMap<number, number> = new Map([
  // CANCELLED. Several servers log this number if the client disconnects.
  [1, 499],
  // INVALID_ARGUMENT
  [3, 400],
  // DEADLINE_EXCEEDED
  [4, 504],
  // NOT_FOUND
  [5, 404],
  // ALREADY_EXISTS
  [6, 409],
  // PERMISSION_DENIED
  [7, 403],
  // RESOURCE_EXHAUSTED
  [8, 429],
  // ABORTED
  [10, 409],
  // OUT_OF_RANGE
  [11, 400],
  // UNIMPLEMENTED
  [12, 501],
  // UNAVAILABLE
  [14, 503],
  // UNAUTHENTICATED
  [16, 401],
]);

/** Returns the HTTP status for the code of a gRPC status. */
export function httpStatusOf(code: number): number {
  return HTTP_STATUS.get(code) ?? 500;
}
