"""A fake of the SPIFFE Workload API, spoken by Google's own gRPC.

A fake, because SPIRE is in no registry that the tests may use. It fakes who is asking: it attests nobody, and hands out the SVIDs that the test
prepared. What it does not fake is the protocol, which is none of our code: HTTP/2, gRPC and protobuf are those of grpcio. It is strict: without
the metadata that the standard demands, with no audience or with another than the token's, a request is refused.

Comes in: the path of the socket, a JSON file with the SVIDs, read at each request. Goes out: a line on stdout for each request.
"""
import base64, concurrent.futures, json, sys, threading
import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

STRING, BYTES, MESSAGE = 9, 12, 11
MESSAGES = {
    "X509SVIDRequest": [],
    "X509SVID": [("spiffe_id", 1, STRING, 1), ("x509_svid", 2, BYTES, 1), ("x509_svid_key", 3, BYTES, 1), ("bundle", 4, BYTES, 1), ("hint", 5, STRING, 1)],
    "X509SVIDResponse": [("svids", 1, MESSAGE, 3, "X509SVID")],
    "JWTSVIDRequest": [("audience", 1, STRING, 3), ("spiffe_id", 2, STRING, 1)],
    "JWTSVID": [("spiffe_id", 1, STRING, 1), ("svid", 2, STRING, 1), ("hint", 3, STRING, 1)],
    "JWTSVIDResponse": [("svids", 1, MESSAGE, 3, "JWTSVID")],
}


def messages():
    file = descriptor_pb2.FileDescriptorProto(name="workload.proto", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, label, *of in fields:
            message.field.add(name=field, number=number, type=kind, label=label, type_name="".join("." + it for it in of) or None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in MESSAGES}


class WorkloadApi:
    def __init__(self, prepared):
        self.prepared, self.given = prepared, 0

    def read(self, context, what):
        print(what, flush=True)
        if ("workload.spiffe.io", "true") not in [tuple(one) for one in context.invocation_metadata()]:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "security header missing from request")
        with open(self.prepared) as file:
            prepared = json.load(file)
        if "status" in prepared:
            context.abort(getattr(grpc.StatusCode, prepared["status"]), prepared["words"])
        return prepared

    def jwt(self, request, context):
        prepared = self.read(context, f"jwt {list(request.audience)} {request.spiffe_id}")
        if not request.audience:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "audience must be specified")
        tokens = prepared["jwt"]
        fits = [one for one in tokens if prepared.get("lies") or list(request.audience) == one["audience"]]
        if not fits:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "no identity issued")
        one = fits[min(self.given, len(fits) - 1)]
        self.given += 1
        svid = TYPES["JWTSVID"](spiffe_id=one["spiffe_id"], svid=one["svid"])
        return TYPES["JWTSVIDResponse"](svids=[svid])

    def x509(self, request, context):
        prepared = self.read(context, "x509")
        decoded = lambda one, key: base64.b64decode(one[key])
        svids = [
            TYPES["X509SVID"](spiffe_id=one["spiffe_id"], x509_svid=decoded(one, "path"), x509_svid_key=decoded(one, "key"), bundle=decoded(one, "bundle"))
            for one in prepared["x509"]
        ]
        if not svids:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "no identity issued")
        yield TYPES["X509SVIDResponse"](svids=svids)
        # The stream stays open: the next SVID would come on it.
        while context.is_active():
            stop.wait(0.1)


def main(socket, prepared):
    api = WorkloadApi(prepared)
    written = lambda message: message.SerializeToString()
    handlers = {
        "FetchJWTSVID": grpc.unary_unary_rpc_method_handler(api.jwt, TYPES["JWTSVIDRequest"].FromString, written),
        "FetchX509SVID": grpc.unary_stream_rpc_method_handler(api.x509, TYPES["X509SVIDRequest"].FromString, written),
    }
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("SpiffeWorkloadAPI", handlers),))
    if not server.add_insecure_port("unix:" + socket):
        sys.exit("the socket cannot be had")
    server.start()
    print("ready", flush=True)
    server.wait_for_termination()


stop = threading.Event()
TYPES = messages()
main(*sys.argv[1:])
