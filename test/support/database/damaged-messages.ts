/** Messages of PostgreSQL as no server sends them. Source: PostgreSQL, protocol-message-formats. */

/** One message of a server. */
export function message(type: string, body: string | Buffer): Buffer {
  const content = Buffer.from(body as string);
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

/** The same messages, of which one is damaged; which one and how follows from the numbers. */
export function damagedMessages(messages: readonly Buffer[], numbers: () => number): Buffer {
  const at = numbers() % messages.length;
  return Buffer.concat(messages.map((whole, index) => (index === at ? damagedMessage(whole, numbers) : whole)));
}

/**
 * One message that is another type, empty, cut, longer or shorter than it says, or of which a byte or a count of
 * columns is another one. No error becomes anything else: a client that is not told of it could not know.
 */
export function damagedMessage(whole: Buffer, numbers: () => number): Buffer {
  const bytes = Buffer.from(whole);
  const type = String.fromCharCode(whole[0] ?? 0);
  switch (numbers() % 6) {
    case 0:
      if (type !== 'E') bytes[0] = numbers() % 256;
      return bytes;
    case 1:
      return message(type, '');
    case 2:
      bytes.writeUInt32BE(numbers() % (2 * bytes.length), 1);
      return bytes;
    case 3:
      return message(type, bytes.subarray(5, 5 + (numbers() % Math.max(1, bytes.length - 5))));
    case 4:
      if (bytes.length > 6) bytes.writeUInt16BE(numbers() % 65_536, 5);
      return bytes;
    default:
      return bytes.subarray(0, 1 + (numbers() % (bytes.length - 1)));
  }
}
