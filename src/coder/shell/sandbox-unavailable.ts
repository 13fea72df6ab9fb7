/** Thrown if the sandbox cannot be used on this system or for this workspace. */
export class SandboxUnavailable extends Error {
  override readonly name = 'SandboxUnavailable';
  /** The message for a person who has not asked for a sandbox: the problem, and its fix if there is one. */
  readonly ifWanted: string;

  /** `fix` is undefined if nothing can be done about the problem. */
  constructor(problem: string, fix?: string, options?: ErrorOptions) {
    super(
      `${problem}; ${fix === undefined ? '' : `${fix}, or `}turn off the sandbox (--sandbox, or "sandbox" in settings.json)`,
      options,
    );
    this.ifWanted =
      fix === undefined
        ? `${problem}; --sandbox cannot be used`
        : `${problem}; ${fix} if you want to use --sandbox`;
  }
}
