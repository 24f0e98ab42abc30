/** What people paste where a public key belongs, and what to tell them. */

/** Only a certificate names its algorithm so (OpenSSH, PROTOCOL.certkeys). */
const CERTIFICATE = /-cert-v0\d@openssh\.com$/u;

/** A fingerprint, alone or in a line of `ssh-keygen -l`. */
const FINGERPRINT = /^(?:\d+ )?(?:SHA256:[A-Za-z0-9+/]{20,}|(?:MD5:)?(?:[0-9a-f]{2}:){15}[0-9a-f]{2})/u;

/**
 * The mistake that a trimmed text is, as a sentence about the public key; null when it is none of those known. Says
 * nothing of what the text holds: it may be a secret.
 */
export function mistakeIn(text: string, algorithms: readonly string[]): string | null {
  if (text === '') return 'must not be empty';
  if (/PRIVATE KEY-----|^PuTTY-User-Key-File-/mu.test(text))
    return 'is a private key, which must never leave your machine: give the line in the .pub file beside it';
  if (/^-----BEGIN [A-Z ]*CERTIFICATE/u.test(text))
    return 'is an X.509 certificate: give an OpenSSH public key, one line such as ssh-ed25519 AAAA…';
  if (text.startsWith('---- BEGIN SSH2')) return 'is in the format of RFC 4716: convert it with ssh-keygen -i -f FILE';
  if (/^-----BEGIN [A-Z ]*PUBLIC KEY/u.test(text))
    return 'is in PEM format: convert it with ssh-keygen -i -m PKCS8 -f FILE';
  if (/[\n\r\u2028\u2029]/u.test(text))
    return text.split(/[\n\r]+/u).filter((line) => algorithms.some((algorithm) => line.startsWith(`${algorithm} `)))
      .length > 1
      ? 'is several keys: give one at a time'
      : 'has line breaks in it: it must be one line';
  if (/\p{Cc}/u.test(text.replaceAll('\t', ' '))) return 'has control characters in it';

  const [first = '', ...others] = text.split(/\s+/u);
  if (FINGERPRINT.test(text)) return 'is a fingerprint: give the key itself, one line such as ssh-ed25519 AAAA…';
  if (CERTIFICATE.test(first)) return 'is a certificate: give the public key that it was made of';
  if (first.startsWith('sk-')) return 'is a key of a security token (sk-…), which is not supported: use ssh-ed25519';
  if (first === 'ssh-dss') return 'is a DSA key, which is too weak: make one with ssh-keygen -t ed25519';
  if (algorithms.includes(first)) return others.length > 0 ? null : `lacks the key itself: nothing follows ${first}`;
  if (/^AAAA[A-Za-z0-9+/]/u.test(first)) return 'lacks its algorithm: it begins with a word such as ssh-ed25519';
  if (algorithms.some((algorithm) => others.includes(algorithm) || text.includes(`" ${algorithm} `)))
    return 'has something in front of its algorithm: options of authorized_keys are not supported';
  return null;
}
