/** What can go wrong when a development server is found or started. */
export type DevErrorCode =
  | 'port-in-use'
  | 'postgres-data-broken'
  | 'postgres-data-version'
  | 'postgres-in-use'
  | 'postgres-libraries-missing'
  | 'postgres-missing'
  | 'postgres-permission'
  | 'postgres-start-failed'
  | 'postgres-user'
  | 'temporal-cli-broken'
  | 'temporal-cli-missing'
  | 'temporal-start-failed';

/** A failure whose message is one sentence for a person: what was wrong, and what to do. */
export class DevError extends Error {
  override readonly name = 'DevError';
  readonly code: DevErrorCode;

  constructor(code: DevErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
