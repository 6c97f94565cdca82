/** SHA-256 digests and the one canonical form they are taken over (RFC 8785). Workflow-safe. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';

export type Digest = `sha256:${string}`;

/** Digest of exact bytes. */
export function digestBytes(bytes: Uint8Array): Digest {
  return `sha256:${bytesToHex(sha256(bytes))}`;
}

/** Digest of a text's UTF-8 bytes: for texts that must not be re-written, such as a model's arguments. */
export function digestText(text: string): Digest {
  return digestBytes(utf8ToBytes(text));
}

/** The canonical JSON text of a parsed JSON value; absent members are left out. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('only a JSON value has a canonical form');
  return text;
}

/** Digest of a JSON value that we compose, over its canonical form. */
export function digestJson(value: unknown): Digest {
  return digestText(canonicalJson(value));
}
