/** Writes answers of the query protocol: a form comes in, and XML goes out. */

export interface XmlAnswer {
  readonly status: number;
  readonly xml: string;
}

/** The fields become elements of the result, in order. A nested record becomes nested elements. */
export interface XmlFields {
  readonly [name: string]: string | XmlFields;
}

export function xmlResult(action: string, namespace: string, result: XmlFields): XmlAnswer {
  const body = `<${action}Result>${elementsOf(result)}</${action}Result>`;
  const metadata = '<ResponseMetadata><RequestId>local</RequestId></ResponseMetadata>';
  return {
    status: 200,
    xml: `<${action}Response xmlns="${namespace}">${body}${metadata}</${action}Response>`,
  };
}

export function xmlError(namespace: string, status: number, code: string, message: string): XmlAnswer {
  const error = elementsOf({ Type: 'Sender', Code: code, Message: message });
  const xml = `<ErrorResponse xmlns="${namespace}"><Error>${error}</Error><RequestId>local</RequestId></ErrorResponse>`;
  return { status, xml };
}

function elementsOf(fields: XmlFields): string {
  return Object.entries(fields)
    .map(
      ([name, value]) =>
        `<${name}>${typeof value === 'string' ? escaped(value) : elementsOf(value)}</${name}>`,
    )
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
